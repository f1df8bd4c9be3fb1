CREATE EXTENSION pg_prefetch_guard;
SELECT mode, filter_status, requests FROM pg_stat_prefetch_guard;
