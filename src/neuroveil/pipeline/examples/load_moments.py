"""Load this release with pandas. Needs: pip install pandas pyarrow."""

import json
from pathlib import Path

import pandas as pd

folder = Path(__file__).parent
certificate = json.loads((folder / "certificate.json").read_text(encoding="utf-8"))
print(certificate["verdict"])

# On the scaled axis: (value - Centre) / Spread, see synthetic.json.
mean = pd.read_csv(folder / "mean.csv", index_col="column")["mean"]
covariance = pd.read_csv(folder / "covariance.csv", index_col="column")
error = certificate["chain"]["utility"]["predicted"]["value"]["mean_rmse"]
print(f"Mean of {len(mean)} columns, each off by about {error:.3g} before it was shrunk:")
print(mean.head())
print("Largest variance:", covariance.to_numpy().diagonal().max())

# Rows of people who do not exist. They add nothing to mean and covariance.
synthetic = pd.read_parquet(folder / "synthetic.parquet")
print(f"{len(synthetic)} synthetic rows:")
print(synthetic.describe())
