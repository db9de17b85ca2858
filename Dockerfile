# pate, and nothing else: one static program. It reads and writes /data.
#   docker build -t pate .
#   docker run --rm -v "$PWD:/data" --user "$(id -u)" pate label votes.npy ...
FROM --platform=$BUILDPLATFORM golang:1.25 AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
# .git is part of the copy: Go records the commit, which ledgers show.
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags "-s -w" -o /pate ./cmd/pate
# Two empty folders: scratch has no shell to make them, and votes are unpacked in /tmp.
RUN mkdir -p /empty/data && mkdir -m 1777 /empty/tmp

FROM scratch
COPY --from=build /pate /pate
COPY --from=build /src/LICENSE /src/NOTICE /src/licenses/ /licenses/
COPY --from=build --chown=65532:65532 /empty/ /
ENV XDG_STATE_HOME=/data/.state XDG_CACHE_HOME=/tmp/cache
USER 65532:65532
WORKDIR /data
ENTRYPOINT ["/pate"]
