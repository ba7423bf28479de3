"""Which program here does what an example of Tracr or of ALTA does.

Tracr's examples are the programs of its library (tracr/compiler/lib.py); ALTA's are those of its
registry and of its folder of examples. One program here often does the work of several there:

- there, answers have one number per input token, and lengths, alphabets and bounds are compiled
  in; here, the answer is a text, and anything of that kind is part of the prompt
- ALTA's sparse programs compute the same as the dense ones, with other rules
- ALTA's parity by absolute and by relative positions is one program here: looking back to the bit
  of the same number is looking back by a constant distance
"""

from __future__ import annotations

TRACR = {
    "make_length": "length",
    "make_reverse": "reverse",
    "make_pair_balance": "pair_balance",
    "make_shuffle_dyck": "shuffle_dyck",
    "make_shuffle_dyck2": "shuffle_dyck",
    "make_hist": "token_counts",
    "make_sort_unique": "sort_records",
    "make_sort": "sort_records",
    "make_sort_freq": "sort_frequency",
    "make_frac_prevs": "prefix_fractions",
    "shift_by": "shift",
    "detect_pattern": "detect_pattern",
    "make_count_less_freq": "count_rare",
    "make_count": "count",
    "make_nary_sequencemap": "sequence_map",
}

ALTA = {
    "parity_sequential_absolute": "parity_sequential",
    "parity_sequential_relative": "parity_sequential",
    "parity_sum_mod_2": "parity",
    "sparse_parity_sequential_absolute": "parity_sequential",
    "sparse_parity_sequential_relative": "parity_sequential",
    "sparse_parity_sum_mod_2": "parity",
    "addition": "addition",
    "sort_unique": "sort",
    "subleq": "subleq",
    "scan": "scan",
    "scan_parser_program": "scan",
    "scan_sparse_program": "scan",
}

RASP_PAPER = {
    "reverse": "reverse",
    "histogram": "histogram",
    "double_histogram": "double_histogram",
    "sort": "sort",
    "most_frequent": "sort_frequency",
    "dyck_1": "dyck1",
    "dyck_2": "dyckn",
    "shuffle_dyck": "shuffle_dyck",
}

COUNTERPARTS = {"tracr": TRACR, "alta": ALTA, "rasp paper": RASP_PAPER}
