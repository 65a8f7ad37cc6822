# The operator alone, without a shell, as a user without rights.
#   docker build --build-arg VERSION=v0.1.0 --build-arg COMMIT=$(git rev-parse HEAD) --build-arg DATE=$(date -u +%FT%TZ) .
# The Go program is cross-compiled on the machine that builds; TARGETOS and TARGETARCH come from buildx.
FROM --platform=${BUILDPLATFORM:-linux/amd64} golang:1.26 AS build
ARG TARGETOS=linux
ARG TARGETARCH=amd64
ARG VERSION=devel
ARG COMMIT=unknown
ARG DATE=unknown
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY api/ api/
COPY cmd/manager/ cmd/manager/
COPY controllers/ controllers/
COPY internal/ internal/
RUN CGO_ENABLED=0 GOOS=${TARGETOS} GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false \
    -ldflags "-s -w \
    -X durabletopic.io/operator/internal/version.version=${VERSION} \
    -X durabletopic.io/operator/internal/version.commit=${COMMIT} \
    -X durabletopic.io/operator/internal/version.date=${DATE}" \
    -o /manager ./cmd/manager

FROM gcr.io/distroless/static:nonroot
ARG VERSION=devel
ARG COMMIT=unknown
LABEL org.opencontainers.image.title="durabletopic" \
      org.opencontainers.image.description="Keeps Kafka topics as durable as they are declared" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /manager /manager
USER 65532:65532
ENTRYPOINT ["/manager"]
