#!/usr/bin/env bash
#SBATCH --job-name=pate-teachers
#SBATCH --array=0-39
#SBATCH --cpus-per-task=2
#SBATCH --mem=4G
#SBATCH --time=04:00:00
#SBATCH --requeue
#
# Trains 40 parts of the teachers as a job array; see docs/many-machines.md. A part that is
# requeued goes on, and one that is complete does nothing: submit it again after a failure.
#
#   sbatch deploy/slurm-array.sh
#   sbatch --array=0-7 --export=ALL,SHARDS=8 deploy/slurm-array.sh
set -euo pipefail

: "${SHARDS:=40}" # one more than the last index of --array
: "${PRIVATE:=private.csv}" "${PUBLIC:=public.csv}" "${OUT:=votes.npy}"
: "${LABEL:=outcome}" "${UNIT:=patient}" "${CLASS_NAMES:=no,yes}" "${TEACHERS:=200}"

exec pate train "$PRIVATE" --public "$PUBLIC" --label "$LABEL" --unit "$UNIT" \
  --class-names "$CLASS_NAMES" --teachers "$TEACHERS" --shard "auto/$SHARDS" --out "$OUT"
