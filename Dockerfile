# Purser in a container, over a file in the volume /data. docs/deploying.md says how to start it, and how to use a
# database server instead of the file.
#   docker build -t purser .
#   docker buildx build --platform linux/amd64,linux/arm64 -t purser .
# BASE is any image with the program deno, such as one of your own registry.
ARG BASE=denoland/deno:2.9.6

# JavaScript is the same for every platform, so it is built on that of the machine; below nothing is run.
FROM --platform=$BUILDPLATFORM ${BASE} AS build
USER root
WORKDIR /src
COPY deno.json deno.lock cli.ts ./
COPY build build
COPY plugins plugins
COPY src src
COPY tests/deno.lock tests/deno.lock
ARG SOURCE=
RUN deno task bundle --output /made/opt/purser --image --repository "$SOURCE"
RUN deno task sbom --output /made/opt/purser/sbom.spdx.json
RUN install -d -m 0700 /made/volume/data

FROM ${BASE}
ARG VERSION=0.1.0
ARG REVISION=
ARG CREATED=
ARG SOURCE=
LABEL org.opencontainers.image.title="Purser" \
  org.opencontainers.image.description="Runs LLM agents, books every model call in an exact ledger, and stops a run at its budget" \
  org.opencontainers.image.licenses="MIT" \
  org.opencontainers.image.version="${VERSION}" \
  org.opencontainers.image.revision="${REVISION}" \
  org.opencontainers.image.created="${CREATED}" \
  org.opencontainers.image.source="${SOURCE}"
COPY --from=build /made/opt/ /opt/
COPY --from=build --chown=1993:1993 /made/volume/ /
# The user deno of the image denoland/deno, by its number: Kubernetes compares it with runAsNonRoot.
USER 1993:1993
# The config file, if there is one, is /etc/purser/purser.json; updated prices are in /data/purser/prices.
# Compiled code is kept in the volume, so that a restart is quick although the root file system is read-only.
ENV PURSER_DB=/data/purser.db XDG_DATA_HOME=/data XDG_CACHE_HOME=/data/.cache XDG_CONFIG_HOME=/etc DENO_DIR=/data/.deno DENO_NO_UPDATE_CHECK=1
VOLUME /data
EXPOSE 8420
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s \
  CMD ["deno", "eval", "Deno.exit((await fetch('http://127.0.0.1:8420/healthz')).ok ? 0 : 1)"]
ENTRYPOINT ["deno", "run", "--allow-read", "--allow-write", "--allow-env", "--allow-net", "--allow-sys", "--no-prompt", "--quiet", "--config", "/opt/purser/deno.json", "/opt/purser/cli.js"]
CMD ["serve", "--host", "0.0.0.0"]
