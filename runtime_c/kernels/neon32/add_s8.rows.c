/* int8 sum or difference, sixteen numbers that lie side by side at once.
 * like neon/add_s8.rows.c
 * when sa[5] == 1
 * when sb[5] == 1 */
