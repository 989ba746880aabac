"""Load this release with pandas. Needs: pip install pandas pyarrow."""

import json
from pathlib import Path

import numpy as np
import pandas as pd

folder = Path(__file__).parent
table = pd.read_parquet(folder / "table.parquet")
dictionary = json.loads((folder / "table.json").read_text(encoding="utf-8"))
certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))

print(certificate["verdict"])
print(f"{len(table)} rows in random order, {table.shape[1]} columns")

error = certificate["chain"]["utility"]["predicted"]["value"]["rmse"]
bound = certificate["chain"]["bound"]["clip_norm"]["value"]
print(f"Every value is off by {error:.4g} (root mean square);")
print(f"before that no row was longer than {bound:g}.")

# Means over many rows average the noise out; single rows at a small epsilon do not.
means = table.select_dtypes("number").mean()
print(f"Column means (scaled, no unit), each off by {error / np.sqrt(len(table)):.3g}:")
print(means.head())

# Where there is one, the estimate in feature units was made from the table by public rules.
if (folder / "table_estimated.parquet").exists():
    estimated = pd.read_parquet(folder / "table_estimated.parquet")
    units = json.loads((folder / "table_estimated.json").read_text(encoding="utf-8"))["Columns"]
    name = estimated.columns[0]
    print(f"Estimated {name}, in {units[name]['Units']}:")
    print(estimated[name].describe())
