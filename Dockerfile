# The server as an image: docker build -t octoswarm . ; docker run -v octoswarm:/data -p 127.0.0.1:3000:3000 octoswarm
# The tag of the first stage is the version that the project is tested with; `rust-version` in Cargo.toml is the oldest.
FROM rust:1.95-slim-bookworm AS build
WORKDIR /build
# libgit2 would link the system's zlib where it finds one; the image of the second stage has none.
ENV LIBZ_SYS_STATIC=1
# Dependencies first: this layer is made again only when they change.
COPY Cargo.toml Cargo.lock ./
RUN mkdir src && echo 'fn main() {}' > src/main.rs && touch src/lib.rs \
    && cargo build --release --locked \
    && rm -r src target/release/.fingerprint/octoswarm-*
COPY . .
RUN cargo build --release --locked

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="octoswarm" \
      org.opencontainers.image.description="A self-hosted GitHub App that reviews pull requests and turns issues into them" \
      org.opencontainers.image.licenses="MIT OR Apache-2.0"
# GitHub's certificate is checked against the system's roots; docs/sandbox.md tells what bubblewrap needs of a container.
RUN apt-get update \
    && apt-get install --yes --no-install-recommends bubblewrap ca-certificates \
    && rm -rf /var/lib/apt/lists/*
# A fixed number, so that a volume's owner stays the same from image to image.
RUN useradd --uid 10001 --user-group --no-create-home --home-dir /data --shell /usr/sbin/nologin octoswarm \
    && install --directory --owner=octoswarm --group=octoswarm --mode=0700 /data \
    && install --directory /etc/octoswarm
COPY --from=build /build/target/release/octoswarm /usr/local/bin/octoswarm
COPY LICENSE LICENSE-APACHE THIRD-PARTY.md /usr/share/doc/octoswarm/
USER 10001:10001
# `octoswarm.toml` is read from here, if it is mounted.
WORKDIR /etc/octoswarm
# Metrics have a port of their own: what is published of a container seems to come from a private address, whoever asks.
ENV OCTOSWARM_LISTEN=0.0.0.0:3000 \
    OCTOSWARM_METRICS_LISTEN=0.0.0.0:9090 \
    OCTOSWARM_STATE=/data
VOLUME /data
EXPOSE 3000
# Jobs that run get ten seconds to finish, and ten more to stop.
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 CMD ["octoswarm", "health"]
ENTRYPOINT ["octoswarm"]
CMD ["serve"]
