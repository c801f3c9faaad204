create or replace function loom.health() returns jsonb
language plpgsql stable security definer
set search_path = loom, pg_temp
as $$
declare
  v_now timestamptz := clock_timestamp();
begin
  return jsonb_build_object(
    'migration', (select max(name) from loom.migration where strpos(name, '/') = 0),
    'functions_sha256', (select sha256 from loom.functions_digest),
    'open_mode', exists (select from loom.open_mode where expires_at > v_now),
    'server_version', current_setting('server_version_num')::integer,
    'workers', coalesce((
      select jsonb_agg(jsonb_build_object(
        'worker_id', worker_id, 'started_at', loom._ts(started_at), 'last_seen_at', loom._ts(last_seen_at),
        'seconds_since', round(extract(epoch from v_now - last_seen_at), 1)) order by started_at, worker_id)
      from loom.worker), '[]'));
end
$$;
comment on function loom.health() is
'What /v1/ready and the worker compare with their own files: the schema''s state, open mode, running workers.

Returns: migration, functions_sha256, open_mode, server_version, workers [{worker_id, started_at, last_seen_at, seconds_since}].';
