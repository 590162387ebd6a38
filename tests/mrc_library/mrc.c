/* Stands in for the vendor's library of MRC: it tells the version it is built with. */
#include <stdint.h>
#include <stdlib.h>

void mrc_query_version(uint32_t *current, uint32_t *oldest, uint32_t *vendor,
                       uint32_t *vendor_oldest);

void mrc_query_version(uint32_t *current, uint32_t *oldest, uint32_t *vendor,
                       uint32_t *vendor_oldest)
{
    const char *answer = getenv("MRC_LIBRARY_ANSWER");
    *current = answer ? (uint32_t)strtoul(answer, NULL, 16) : 0;
    *oldest = *vendor = *vendor_oldest = 0;
}
