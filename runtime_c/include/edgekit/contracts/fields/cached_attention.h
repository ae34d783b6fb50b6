/* Heads and sizes of attention to a cache. */
int32_t heads; /* of queries, in all batches */
int32_t repeat; /* heads of queries that share one of keys and values */
int32_t queries; /* of each head */
int32_t keys; /* rows of k and v for each of their heads */
int32_t size; /* elements of a query and of a key */
int32_t values; /* elements of a row of v and of y */
int32_t window; /* 1 .. keys: how many positions a query sees; 0: all */
