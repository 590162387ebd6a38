/* A library that starts as CUDA_LIBRARY_ANSWER says: with a code, or never, or not
 * without a crash; without a GPU that is hidden from a job it starts with 100. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NO_DEVICE = 100 };

int cuInit(unsigned flags)
{
    const char *answer = getenv("CUDA_LIBRARY_ANSWER");
    const char *shown = getenv("CUDA_VISIBLE_DEVICES");

    if (flags || (shown && !*shown))
        return NO_DEVICE;
    if (answer && strcmp(answer, "hang") == 0)
        for (;;)
            pause();
    if (answer && strcmp(answer, "crash") == 0)
        raise(SIGSEGV);
    return answer ? atoi(answer) : 0;
}
