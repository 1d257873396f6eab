# The image of the operator, the webhook and the chart's jobs: Kwicket, the packages of requirements/runtime.txt by
# their hashes, and a Python. Both stages are of one base, since a virtual environment is bound to its interpreter.
#
# The base is named by its tag, which its maintainers move to newer builds. Whoever wants the same bytes each time says its
# digest, as `docker buildx imagetools inspect python:3.13-slim-trixie` shows it, of a CPython 3.13 as here:
#   docker build --build-arg PYTHON=python:3.13-slim-trixie@sha256:... .
ARG PYTHON=python:3.13-slim-trixie

FROM ${PYTHON} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
WORKDIR /src
COPY requirements/build.txt requirements/runtime.txt requirements/
RUN python -m venv /opt/build \
    && /opt/build/bin/pip install --require-hashes --only-binary :all: -r requirements/build.txt \
    && python -m venv --without-pip /opt/kwicket \
    && pip --python /opt/kwicket/bin/python install --require-hashes --only-binary :all: -r requirements/runtime.txt
COPY pyproject.toml README.md LICENSE ./
COPY operator/kwicket operator/kwicket
COPY storage/kwicket_storage storage/kwicket_storage
COPY crds crds
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /wheels . \
    && pip --python /opt/kwicket/bin/python install --no-deps --no-index /wheels/*.whl

FROM ${PYTHON}
LABEL org.opencontainers.image.title="Kwicket" \
      org.opencontainers.image.description="Fair Job admission for Kubernetes" \
      org.opencontainers.image.licenses="MIT"
RUN pip uninstall --yes pip && rm -rf /usr/local/lib/python3.13/ensurepip
COPY --from=build /opt/kwicket /opt/kwicket
ENV PATH=/opt/kwicket/bin:$PATH PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /
USER 65532:65532
ENTRYPOINT ["kwicket"]
CMD ["--help"]
