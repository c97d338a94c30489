"""Tables of a GPU's figures: CSV below one line of context."""
import csv


def write_table(path, where, columns, results):
    """`where` is a dictionary: device, clocks, commit."""
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.write("# " + ", ".join(f"{key} {value}" for key, value in where.items()) + "\n")
        rows = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        rows.writeheader()
        for result in results:
            rows.writerow({key: f"{value:.4g}" if isinstance(value, float) else value for key, value in result.items()})


def read_table(path):
    """The line of context, and the rows as texts."""
    with open(path, newline="", encoding="utf-8") as file:
        where = file.readline().removeprefix("#").strip()
        return where, list(csv.DictReader(file))
