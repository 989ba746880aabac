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

noise = certificate["chain"]["mechanism"]["noise_std"]["value"]
bound = certificate["chain"]["bound"]["clip_norm"]["value"]
print(f"Every value carries noise of standard deviation {noise:.4g};")
print(f"before the noise no row was longer than {bound:g}.")

# Means over many rows average the noise out; single rows at a small epsilon do not.
means = table.select_dtypes("number").mean()
error = noise / np.sqrt(len(table))
print(f"Column means (scaled, no unit), each with a standard error of {error:.3g} from noise:")
print(means.head())
