#ifndef SYNC_STAND_IN_H
#define SYNC_STAND_IN_H

static inline void __dmb(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST); /* the FIFO orders the rest */
}

#endif
