"""Launch scripts in the shapes that people write them, for the tests of the reader."""

from typing import NamedTuple


class Launch(NamedTuple):
    """A script, and what it gives some flags of a program.

    expected: a flag with its values in one text; None where they cannot be known.
    known: what comes from outside, as Slurm would set it.
    """

    text: str
    program: str
    expected: dict[str, str | None]
    known: dict[str, str] = {}  # noqa: RUF012 - never changed


LAUNCHES: dict[str, Launch] = {}

LAUNCHES["arrays"] = Launch(
    r"""#!/bin/bash
export CUDA_DEVICE_MAX_CONNECTIONS=1
GPUS_PER_NODE=8
NNODES=${SLURM_NNODES:-2}
WORLD_SIZE=$(($GPUS_PER_NODE*$NNODES))
TP=4
PP=2
CHECKPOINT_PATH=$1 # <path to save>
DISTRIBUTED_ARGS=(
    --nproc_per_node $GPUS_PER_NODE
    --nnodes $NNODES
    --master_addr ${MASTER_ADDR:-localhost}
)
GPT_MODEL_ARGS=(
    --num-layers 32   # of the small variant
    # --num-layers 96
    --hidden-size 4096
    --norm-epsilon 1e-5 \
    --seq-length 4096
)
PARALLEL_ARGS=(
	--tensor-model-parallel-size ${TP}
	--pipeline-model-parallel-size "$PP"
	--global-batch-size $((WORLD_SIZE / (TP * PP) * 64))
)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \
    ${GPT_MODEL_ARGS[@]} \
    "${PARALLEL_ARGS[@]}" \
    --save "$CHECKPOINT_PATH" --lr-warmup-fraction .01 --min-lr -5e-3
""",
    "torchrun",
    {
        "--nproc_per_node": "8",
        "--nnodes": "2",
        "--master_addr": "localhost pretrain_gpt.py",
        "--num-layers": "32",
        "--norm-epsilon": "1e-5",
        "--seq-length": "4096",
        "--tensor-model-parallel-size": "4",
        "--pipeline-model-parallel-size": "2",
        "--global-batch-size": "128",
        "--save": None,
        "--min-lr": "-5e-3",
    },
)

LAUNCHES["option string"] = Launch(
    r"""#!/bin/bash
#SBATCH --nodes=4
DIR=`pwd`
TP_SIZE=8
options=" \
    --tensor-model-parallel-size ${TP_SIZE} \
    --num-layers 24 --hidden-size 1024 \
    --optimizer adam \
    --recompute-modules mlp moe layernorm \
    --bf16"
options="${options} --save-interval 500"
python ${DIR}/pretrain_gpt.py ${options} --data-path $DIR/text_document
""",
    "python",
    {
        "--tensor-model-parallel-size": "8",
        "--hidden-size": "1024",
        "--recompute-modules": "mlp moe layernorm",
        "--bf16": "",
        "--save-interval": "500",
        "--data-path": None,
    },
)

LAUNCHES["evaluated string"] = Launch(
    r"""#! /bin/bash
NUM_GPUS=8
MP=2
script_path=pretrain.py
DISTRIBUTED_ARGS="--nproc_per_node $NUM_GPUS --nnodes 1"
gpt_options=" \
       --tensor-model-parallel-size ${MP} \
       --split '949,50,1' \
"
gpt_options="${gpt_options}
       --deepspeed \
"
run_cmd="NCCL_DEBUG=WARN torchrun $DISTRIBUTED_ARGS ${script_path} ${gpt_options}"
echo ${run_cmd}
eval ${run_cmd} 2>&1 | tee train.log
set +x
""",
    "torchrun",
    {
        "--nproc_per_node": "8",
        "--tensor-model-parallel-size": "2",
        "--split": "949,50,1",
        "--deepspeed": "",
    },
)

LAUNCHES["chain of sizes"] = Launch(
    r"""#!/bin/bash
MSIZE=52
MODEL=${MODEL:-large}
if   [[ ${MSIZE} == 7 ]];    then NHIDDEN=4096;  NLAYERS=36
elif [[ ${MSIZE} == 52 ]];   then NHIDDEN=8192;  NLAYERS=64
else echo "invalid MSIZE: $MSIZE"; exit 1
fi
case "${MODEL}" in
  small|tiny) HEADS=16 ;;
  lar*)
    HEADS=64
    ;;
  *) HEADS=1 ;;
esac
FP8=0
if [ $FP8 -eq 1 ]; then EXTRA="--fp8-format hybrid"; else EXTRA=""; fi
[[ $NLAYERS -gt 48 && $HEADS == 64 ]] && PP=4 || PP=1
test "$FP8" = 1 || unset NVTE_DEBUG
torchrun train.py --num-layers $NLAYERS --hidden-size $NHIDDEN \
  --num-attention-heads $HEADS $EXTRA --pipeline-model-parallel-size $PP
""",
    "torchrun",
    {
        "--num-layers": "64",
        "--hidden-size": "8192",
        "--num-attention-heads": "64",
        "--pipeline-model-parallel-size": "4",
    },
)

LAUNCHES["pairs in quotes"] = Launch(
    r"""#!/bin/bash
DTYPE="bf16"
DATA_ARGS=()
if [[ "$DTYPE" == "fp8" ]]; then
    DATA_ARGS+=("--fp8-format hybrid")
else
    DATA_ARGS+=(
        "--vocab-size 128256"
        "--tokenizer-model my/tokenizer"  # both words in one element
    )
fi
TRAINING_ARGS=(--lr 3e-4 --bf16)
DDP_ARGS=(--overlap-grad-reduce)
TRAINING_ARGS+=("${DDP_ARGS[@]}")
torchrun t.py ${DATA_ARGS[@]} "${TRAINING_ARGS[@]}" --moe-layer-freq "([0]*3+[1]*58)"
""",
    "torchrun",
    {
        "--vocab-size": "128256",
        "--tokenizer-model": "my/tokenizer",
        "--lr": "3e-4",
        "--overlap-grad-reduce": "",
        "--moe-layer-freq": "([0]*3+[1]*58)",
    },
)

LAUNCHES["function with arguments"] = Launch(
    r"""#!/bin/bash
BASE="--bf16 --seq-length 4096"
function run_one() {
  local tp=$1 micro=${2:-1}
  shift 2
  torchrun --nproc-per-node 8 t.py $BASE --tensor-model-parallel-size $tp \
    --micro-batch-size $micro "$@"
}
tp=1
run_one 4 2 --train-iters 1000
""",
    "torchrun",
    {
        "--tensor-model-parallel-size": "4",
        "--micro-batch-size": "2",
        "--train-iters": "1000",
        "--seq-length": "4096",
    },
)

LAUNCHES["prepended options"] = Launch(
    r"""#!/bin/bash
ZERO_STAGE=1
DS_CONFIG=./ds.json
cat <<EOT > $DS_CONFIG
{ "zero_optimization": { "stage": $ZERO_STAGE, "note": "don't" } }
EOT
ds_args=""
ds_args=" --deepspeed ${ds_args}"
ds_args=" --deepspeed_config=$DS_CONFIG ${ds_args}"
ds_args=" --zero-stage=$ZERO_STAGE ${ds_args}"
LOG_TO_WANDB=0
WANDB_ARGS=
if [ $LOG_TO_WANDB -eq 1 ]
then
WANDB_ARGS="\
       --wandb-project p"
fi
deepspeed --num_nodes 2 --num_gpus 8 t.py --tensor-model-parallel-size 2 \
       $WANDB_ARGS \
       $ds_args
""",
    "deepspeed",
    {
        "--num_nodes": "2",
        "--tensor-model-parallel-size": "2",
        "--zero-stage": "1",
        "--deepspeed_config": "./ds.json",
        "--deepspeed": "",
    },
)

LAUNCHES["optional parts"] = Launch(
    r"""#!/bin/bash
TP_SIZE=${TP_SIZE:-"2"}
PP_SIZE="${PP_SIZE:=4}"
VP_SIZE=${VP_SIZE:-}
USE_MOE=1
torchrun t.py --tensor-model-parallel-size $TP_SIZE \
  --pipeline-model-parallel-size ${PP_SIZE} \
  ${VP_SIZE:+--num-layers-per-virtual-pipeline-stage "$VP_SIZE"} \
  ${USE_MOE:+--num-experts "64"} \
  --name "tp${TP_SIZE}-pp${PP_SIZE}"
""",
    "torchrun",
    {
        "--tensor-model-parallel-size": "2",
        "--pipeline-model-parallel-size": "4",
        "--num-experts": "64",
        "--name": "tp2-pp4",
    },
)

LAUNCHES["parsed arguments"] = Launch(
    r"""#!/bin/bash
TP=8
NODES=2
while [[ $# -gt 0 ]]; do
  case $1 in
    --tp) TP="$2"; shift 2 ;;
    --nodes) NODES="$2"; shift; shift ;;
    *) echo "unknown $1"; exit 1 ;;
  esac
done
torchrun --nnodes $NODES t.py --tensor-model-parallel-size $TP
""",
    "torchrun",
    {"--nnodes": "2 t.py", "--tensor-model-parallel-size": "8"},
)

LAUNCHES["known to Slurm"] = Launch(
    r"""#!/bin/bash
#SBATCH -N 16 --ntasks-per-node=8
GPUS=$SLURM_GPUS_ON_NODE
WORLD_SIZE=$((SLURM_JOB_NUM_NODES * GPUS))
if [ -n "$SLURM_NNODES" ]; then NNODES=$SLURM_NNODES; else NNODES=1; fi
GBS=$((WORLD_SIZE*${ACCUMULATION:-4}))
srun torchrun --nnodes=$NNODES t.py --global-batch-size $GBS
""",
    "srun",
    {"--nnodes": "16 t.py", "--global-batch-size": "512"},
    {"SLURM_NNODES": "16", "SLURM_JOB_NUM_NODES": "16", "SLURM_GPUS_ON_NODE": "8"},
)

LAUNCHES["loop of one"] = Launch(
    r"""#!/bin/bash
for TP in 4; do
  for i in 1 2 3; do :; done
  python -u t.py --tensor-model-parallel-size ${TP} --try $i
done
""",
    "python",
    {"--tensor-model-parallel-size": "4", "--try": None},
)

LAUNCHES["appended string"] = Launch(
    r"""#!/bin/bash
CMD="python -u t.py"
CMD+=" --tensor-model-parallel-size 8"
CMD+=" --run-name $(date +%s)-x"
if false; then CMD+=" --fp16"; fi
CMD="$CMD --bf16"
$CMD > log.txt 2>&1 &
wait
""",
    "python",
    {"--tensor-model-parallel-size": "8", "--run-name": None, "--bf16": ""},
)

LAUNCHES["accelerate"] = Launch(
    r"""#!/bin/bash
set -euo pipefail
export NUM_MACHINES=2 GPUS=8
NUM_PROCESSES=$(( NUM_MACHINES * GPUS ))
LAUNCHER="accelerate launch --num_machines $NUM_MACHINES \
  --num_processes $NUM_PROCESSES \
  --mixed_precision bf16"
ARGUMENTS='--learning_rate 2e-5
  --output_dir "out"'
$LAUNCHER sft.py $ARGUMENTS
""",
    "accelerate",
    {
        "--num_machines": "2",
        "--num_processes": "16",
        "--mixed_precision": "bf16 sft.py",
        "--learning_rate": "2e-5",
        "--output_dir": '"out"',
    },
)
