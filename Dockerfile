# docker build --build-arg TORCH_INDEX=ADDRESS -t repro . && docker run --rm repro
# Store, results and fetched data lie in /work, a volume:
# docker run --rm -v repro:/work repro run costa --table 1 --scale tiny
FROM python:3.11-slim

# ADDRESS is of the package index that the build of torch comes from: without CUDA, it has one of its own, which PyTorch's
# page of installation names. Without the argument it is pip's own index, whose build is for GPUs.
ARG TORCH_INDEX=
COPY constraints.txt /src/
RUN version="$(sed -n 's/^torch==//p' /src/constraints.txt)" && \
    PIP_INDEX_URL="${TORCH_INDEX}" pip install --no-cache-dir "torch==${version}"

COPY . /src
RUN pip install --no-cache-dir -c /src/constraints.txt "/src[all]" && rm -r /src

ENV REPRO_STORE=/work/store REPRO_RESULTS=/work/results XDG_DATA_HOME=/work
RUN useradd --create-home user && install --directory --owner=user /work
USER user
WORKDIR /work
VOLUME /work
ENTRYPOINT ["repro"]
CMD ["--help"]
