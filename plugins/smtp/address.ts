const LABEL = "[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?";
const HOST = new RegExp(`^${LABEL}(?:\\.${LABEL})*\\.?$`);
const MAILBOX = new RegExp(`^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${LABEL}(?:\\.${LABEL})*$`);

/**
 * Whether a text is one bare mail address in ASCII: no display name, quotes, comments, spaces or line ends,
 * so that nothing in it can become a second recipient or another SMTP command.
 */
export function isMailAddress(text: string): boolean {
  return text.length <= 254 && MAILBOX.test(text) && !/^\.|\.\.|\.@/.test(text);
}

/** Whether a text is the name or the IP address of a host. */
export function isHostName(text: string): boolean {
  if (text.length > 253) return false;
  return HOST.test(text) || (/^[0-9A-Fa-f:.]+$/.test(text) && URL.canParse(`http://[${text}]/`));
}
