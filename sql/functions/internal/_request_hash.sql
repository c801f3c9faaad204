create or replace function loom._request_hash(p_request jsonb, p_caller loom.caller) returns bigint[]
language plpgsql immutable
set search_path = loom, pg_temp
as $$
declare
  v_request jsonb := p_request - '_caller' || jsonb_strip_nulls(jsonb_build_object(
    'org', p_caller.org, 'namespace', p_caller.namespace, 'agent', p_caller.agent,
    'user_id', p_caller.user_id, 'session_id', p_caller.session_id, 'run_id', p_caller.run_id));
  v_sizes bigint[];
begin
  -- The server's hash of a jsonb passes over where lists and objects end: {"a": {}, "b": 1} and
  -- {"a": {"b": 1}} have the same. How many members each has tells them apart.
  select array_agg(jsonb_array_length(
    case jsonb_typeof(part) when 'array' then part else jsonb_path_query_array(part, '$.*') end)) into v_sizes
  from jsonb_array_elements(
    jsonb_path_query_array(v_request, 'strict $.** ? (@.type() == "object" || @.type() == "array")')) as part;
  -- Not by way of text: a jsonb number of seven characters can print as a hundred thousand. The
  -- server keeps these hashes stable over versions, since hash partitioning stores by them.
  return array[jsonb_hash_extended(v_request, 1), jsonb_hash_extended(v_request, 2),
    hash_array_extended(v_sizes, 1)];
end
$$;
comment on function loom._request_hash(jsonb, loom.caller) is
  'Hash of a request after the bounds and defaults of its token are laid over it: 128 bits of its content, 64 of its shape.';
