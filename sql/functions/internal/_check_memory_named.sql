create or replace function loom._check_memory_named(p_key text, p_id uuid) returns boolean
language plpgsql immutable parallel safe
as $$
begin
  if (p_key is null) = (p_id is null) then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'memory_key', 'reason', 'name either memory_key or memory_id')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  return true;
end
$$;
comment on function loom._check_memory_named(text, uuid) is 'LM001 unless a request names one of memory_key and memory_id.';
