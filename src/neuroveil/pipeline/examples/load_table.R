# Load this release with R. Needs: install.packages("jsonlite")
library(jsonlite)

table <- read.csv("table.csv", check.names = FALSE)
certificate <- fromJSON("certificate.json", simplifyVector = FALSE)

cat(certificate$verdict, "\n")
cat(nrow(table), "rows in random order,", ncol(table), "columns\n")

error <- certificate$chain$utility$predicted$value$rmse
cat("Every value is off by", error, "(root mean square)\n")

# Means over many rows average the noise out; single rows at a small epsilon do not.
numbers <- table[sapply(table, is.numeric)]
print(head(colMeans(numbers)))
cat("Error of each mean:", error / sqrt(nrow(table)), "\n")

# Where there is one, the estimate in feature units was made from the table by public rules.
if (file.exists("table_estimated.csv")) {
  estimated <- read.csv("table_estimated.csv", check.names = FALSE)
  print(summary(estimated[[1]]))
}
