# Weft in a container: `docker build --tag weft .`; docs/install.md says how an editor starts it.
FROM python:3.13-slim AS build
# Extras of docs/dependencies.md, such as [onnx,models].
ARG EXTRAS=""
WORKDIR /source
COPY . .
RUN python -m venv /opt/weft \
    && /opt/weft/bin/pip install --no-cache-dir --constraint constraints.txt ".${EXTRAS}"

FROM python:3.13-slim
# The user that owns the mounted workspace and the volume.
ARG UID=1000
RUN useradd --uid "${UID}" --create-home weft \
    && install --directory --owner weft --mode 700 /data /data/cache /data/share /data/config
COPY --from=build /opt/weft /opt/weft
ENV PATH=/opt/weft/bin:$PATH \
    WEFT_CACHE_DIR=/data/cache \
    XDG_DATA_HOME=/data/share \
    XDG_CONFIG_HOME=/data/config
USER ${UID}
# Indexes, conversations, models and the configuration outlive the container.
VOLUME /data
ENTRYPOINT ["weft"]
CMD ["serve"]
