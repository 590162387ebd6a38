#!/bin/bash
#SBATCH --job-name=pretrain-@LARGE@
#SBATCH --nodes=16
#SBATCH --ntasks-per-node=1
#SBATCH --gpus-per-node=8
#SBATCH --time=48:00:00
#SBATCH --requeue

export CUDA_DEVICE_MAX_CONNECTIONS=1
export NCCL_DEBUG=WARN
export NCCL_IB_TIMEOUT=22
export NCCL_SOCKET_IFNAME=bond0
export TORCH_NCCL_ASYNC_ERROR_HANDLING=1

GPUS_PER_NODE=8
NODES=16
MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)

MODEL_ARGS="
    --num-layers 80
    --hidden-size 8192
    --num-attention-heads 64
    --group-query-attention
    --num-query-groups 8
    --seq-length 4096
    --max-position-embeddings 4096
"
TRAINING_ARGS="
    --micro-batch-size @SMALL@
    --global-batch-size 1024
    --lr 1.5e-4
    --min-lr 1.5e-5
    --train-iters 250000
    --lr-decay-style cosine
    --lr-warmup-iters @LARGE@
    --weight-decay 0.1
    --clip-grad 1.0
    --bf16
    --recompute-activations
    --use-distributed-optimizer
    --overlap-grad-reduce
    --overlap-param-gather
"
PARALLEL_ARGS="--tensor-model-parallel-size 8 --pipeline-model-parallel-size 4 --sequence-parallel"

srun torchrun \
    --nproc_per_node $GPUS_PER_NODE \
    --nnodes $NODES \
    --rdzv_backend c10d \
    --rdzv_endpoint "$MASTER_ADDR:29500" \
    --max_restarts 3 \
    pretrain_gpt.py \
    $MODEL_ARGS \
    $TRAINING_ARGS \
    $PARALLEL_ARGS \
    --save /checkpoints/pretrain-@LARGE@ \
    --load /checkpoints/pretrain-@LARGE@ \
    --save-interval @LARGE@ \
    --log-interval 10 \
    --eval-interval 1000
