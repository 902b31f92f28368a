/** Reduces PNG pictures of pages to a palette of 256 colours, which makes them about a third as large. */
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a);
const MAX_COLOURS = 256;

/** The least distance of two colours of a palette, squared: shades of the edges of letters are many and alike. */
const LEAST_DISTANCE = 30;

/** Returns a picture with its most frequent colours that differ; each other pixel gets the nearest of them. */
export function reducePng(png: Uint8Array): Uint8Array<ArrayBuffer> {
  const { width, height, pixels } = decode(png);
  const counts = new Map<number, number>();
  for (const pixel of pixels) counts.set(pixel, (counts.get(pixel) ?? 0) + 1);
  const palette: number[] = [];
  for (const [colour] of [...counts].sort((a, b) => b[1] - a[1] || a[0] - b[0])) {
    if (palette.length === MAX_COLOURS) break;
    if (palette.every((chosen) => distance(chosen, colour) >= LEAST_DISTANCE)) palette.push(colour);
  }
  const indexes = new Map(palette.map((colour, index) => [colour, index]));
  const rows = new Uint8Array((width + 1) * height);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++) {
      const colour = pixels[at++]!;
      let index = indexes.get(colour);
      if (index === undefined) indexes.set(colour, index = nearest(palette, colour));
      rows[y * (width + 1) + 1 + x] = index; // each row begins with its filter: none
    }
  }
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8);
  header.setUint8(9, 3); // indexed
  return join([
    SIGNATURE,
    chunk("IHDR", new Uint8Array(header.buffer)),
    chunk(
      "PLTE",
      Uint8Array.from(palette.flatMap((colour) => [colour >> 16, colour >> 8 & 255, colour & 255])),
    ),
    chunk("IDAT", deflateSync(rows, { level: 9 })),
    chunk("IEND", new Uint8Array()),
  ]);
}

function nearest(palette: readonly number[], colour: number): number {
  let best = 0;
  let least = Infinity;
  palette.forEach((candidate, index) => {
    const far = distance(candidate, colour);
    if (far < least) [best, least] = [index, far];
  });
  return best;
}

/** Returns the distance of two colours, squared. */
function distance(one: number, other: number): number {
  const red = (one >> 16) - (other >> 16);
  const green = (one >> 8 & 255) - (other >> 8 & 255);
  const blue = (one & 255) - (other & 255);
  return red * red + green * green + blue * blue;
}

/** Reads a PNG of 8 bits per channel, without interlacing, as browsers write it. Pixels are 0xRRGGBB. */
function decode(png: Uint8Array): { width: number; height: number; pixels: Uint32Array } {
  const view = new DataView(png.buffer, png.byteOffset, png.byteLength);
  const [width, height] = [view.getUint32(16), view.getUint32(20)];
  const channels = { 2: 3, 6: 4 }[png[25]!];
  if (png[24] !== 8 || channels === undefined || png[28] !== 0) {
    throw new Error("Cannot read the picture: it is no plain PNG of 8 bits");
  }
  const packed: Uint8Array[] = [];
  for (let at = 8; at < png.length; at += 12 + view.getUint32(at)) {
    const type = String.fromCharCode(...png.subarray(at + 4, at + 8));
    if (type === "IDAT") packed.push(png.subarray(at + 8, at + 8 + view.getUint32(at)));
  }
  const rows = unfilter(inflateSync(join(packed)), width * channels, channels);
  const pixels = Uint32Array.from({ length: width * height }, (_, pixel) => {
    const at = pixel * channels;
    return rows[at]! << 16 | rows[at + 1]! << 8 | rows[at + 2]!;
  });
  return { width, height, pixels };
}

/** Removes the filters of the rows (PNG specification, section 9). */
function unfilter(data: Uint8Array, rowBytes: number, channels: number): Uint8Array {
  const rows = data.length / (rowBytes + 1);
  const out = new Uint8Array(rowBytes * rows);
  for (let y = 0; y < rows; y++) {
    const filter = data[y * (rowBytes + 1)];
    for (let x = 0; x < rowBytes; x++) {
      const at = y * rowBytes + x;
      const left = x < channels ? 0 : out[at - channels]!;
      const up = y === 0 ? 0 : out[at - rowBytes]!;
      const corner = x < channels || y === 0 ? 0 : out[at - rowBytes - channels]!;
      const guess = [0, left, up, left + up >> 1, paeth(left, up, corner)][filter!]!;
      out[at] = data[y * (rowBytes + 1) + 1 + x]! + guess;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const [a, b, c] = [left, up, corner].map((value) => Math.abs(guess - value)) as [number, number, number];
  return a <= b && a <= c ? left : b <= c ? up : corner;
}

function chunk(type: string, data: Uint8Array): Uint8Array {
  const body = join([new TextEncoder().encode(type), data]);
  const frame = new DataView(new ArrayBuffer(8));
  frame.setUint32(0, data.length);
  frame.setUint32(4, crc32(body));
  const [length, sum] = [new Uint8Array(frame.buffer, 0, 4), new Uint8Array(frame.buffer, 4, 4)];
  return join([length, body, sum]);
}

function join(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}
