# Load this release with R. Needs: install.packages("jsonlite")
library(jsonlite)

table <- read.csv("table.csv", check.names = FALSE)
certificate <- fromJSON("certificate.json", simplifyVector = FALSE)

cat(certificate$verdict, "\n")
cat(nrow(table), "rows in random order,", ncol(table), "columns\n")

noise <- certificate$chain$mechanism$noise_std$value
cat("Every value carries noise of standard deviation", noise, "\n")

# Means over many rows average the noise out; single rows at a small epsilon do not.
numbers <- table[sapply(table, is.numeric)]
print(head(colMeans(numbers)))
cat("Standard error of each mean from noise:", noise / sqrt(nrow(table)), "\n")
