# Loom's API, worker and operator's commands in one image; compose.yaml says how they go together.
# Not built by the project's tests, which have no container engine.
FROM python:3.13-slim AS build
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE ./
COPY loom loom
COPY app app
COPY worker worker
COPY sql sql
RUN python -m venv /opt/loom \
    && /opt/loom/bin/pip install --no-cache-dir --constraint constraints.txt '.[server]'

FROM python:3.13-slim
COPY --from=build /opt/loom /opt/loom
RUN useradd --system --uid 10001 --create-home --home-dir /var/lib/loom loom
USER loom
ENV PATH=/opt/loom/bin:$PATH \
    LOOM_DATA_DIR=/var/lib/loom
EXPOSE 7777
ENTRYPOINT ["loom"]
CMD ["serve"]
