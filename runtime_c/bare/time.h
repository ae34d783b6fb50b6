/* The clock of Linux. */
#ifndef EDGEKIT_BARE_TIME_H
#define EDGEKIT_BARE_TIME_H

#define CLOCK_MONOTONIC 1

struct timespec {
    long tv_sec, tv_nsec;
};

int clock_gettime(int clock, struct timespec *now);

#endif
