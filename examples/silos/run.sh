#!/bin/sh
# Three hospitals, each with its rows in a folder of its own, release labels of public rows together.
# Only counts of votes leave a hospital, for the party that adds noise. Run this in a folder with
# public.csv and a/rows.csv, b/rows.csv, c/rows.csv, whose columns "patient" and "sick" are the unit and
# the label.
set -eu
pate votes check hash-ids --salt salt.key --new-salt # once; the hospitals alone have the salt
for hospital in a b c; do
  # In the hospital: each patient votes at the 2 nearest of 30 public rows.
  pate votes nearest $hospital/rows.csv --public public.csv --label sick --unit patient --class-names no,yes \
    --votes 2 --questions 30 --silo $hospital --salt salt.key --out $hospital/votes.counts
done
# Where the counts meet: they are added, the sum gets noise, and the ledger is charged once.
pate label ?/votes.counts --mechanism nearest-questions --epsilon 2 --ledger run.jsonl --out labels.csv
pate student public.csv --labels labels.csv --ledger run.jsonl --label-column sick --class-names no,yes --out student.model
pate verify run.jsonl --labels labels.csv
