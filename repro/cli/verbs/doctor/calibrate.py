"""``repro doctor calibrate``"""

import json

import click

from repro.locations import Locations


@click.command("calibrate", epilog="\b\nExamples:\n  repro doctor calibrate")
def command():
    """Measure how fast this machine trains and encodes, in ten seconds or so.

    `repro plan` then tells hours, and `repro run --max-gpu-hours` can keep to a budget. Nothing else should
    run meanwhile. A GPU is measured if there is one.
    """
    from repro.running.cost.throughput import calibrate, calibration_file
    from repro.store import Store, make_writable, translated_errors
    from repro.store.disk import write_whole

    artefact_store = Store(Locations.resolve().store)
    make_writable(artefact_store.root)
    rates = calibrate()
    path = calibration_file(artefact_store)
    with translated_errors(artefact_store.root):
        write_whole(path, json.dumps(rates, indent=1) + "\n")
    model, peak = rates["model"], rates["matrix_product_flops_per_second"]
    print(
        f"{rates['name']}, {rates['precision']}; BERT of {model['layers']} layers, "
        f"width {model['hidden_size']}, texts of {model['length']} tokens"
    )
    for kind in ("training", "encoding"):
        rate = rates[kind]["flops_per_second"]
        print(
            f"{kind}: {rates[kind]['tokens_per_second']:,.0f} tokens/s, {rate / 1e9:,.0f} GFLOP/s, "
            f"{rate / peak:.0%} of the matrix product's"
        )
    print(f"matrix product: {peak / 1e9:,.0f} GFLOP/s")
    print(f"kept in {path}")
