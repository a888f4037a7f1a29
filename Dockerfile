# The suite on a CPU: docker build -t repro . && docker run --rm repro list
# Store, results and fetched data lie in /work, a volume:
# docker run --rm -v repro:/work repro run costa --table 1 --scale tiny
FROM python:3.11-slim

# The builds of torch without CUDA have an index of their own; everything else is pinned by constraints.txt.
# For GPUs: docker build --build-arg TORCH_INDEX=https://pypi.org/simple -t repro .
ARG TORCH_INDEX=https://download.pytorch.org/whl/cpu
COPY constraints.txt /src/
RUN version="$(sed -n 's/^torch==//p' /src/constraints.txt)" && \
    pip install --no-cache-dir --index-url "${TORCH_INDEX}" "torch==${version}"

COPY . /src
RUN pip install --no-cache-dir -c /src/constraints.txt /src && rm -r /src

ENV REPRO_STORE=/work/store REPRO_RESULTS=/work/results XDG_DATA_HOME=/work
RUN useradd --create-home user && install --directory --owner=user /work
USER user
WORKDIR /work
VOLUME /work
ENTRYPOINT ["repro"]
CMD ["--help"]
