"""How files of shell commands are called."""

# `.sub`: what sbatch and qsub are given, as in the results of MLPerf
SCRIPT_SUFFIXES = (".sh", ".bash", ".sbatch", ".slurm", ".sub", ".pbs", ".lsf")
