"""Arithmetic units and their benchmark: which layers find an exact rule, and how often.

    results = benchmark.run_benchmark("small", key=jax.random.key(0))
    rich.print(report.table(results))

`run_benchmark` trains NAC, NALU, NAU, NMU and baselines on sums, products and quotients of
subsets of a vector; `run_comparisons` trains NSR and baselines on comparisons, `run_sequences` on
loops around a comparison. All count the seeds whose network is right far outside of the range it
was trained on.
"""
