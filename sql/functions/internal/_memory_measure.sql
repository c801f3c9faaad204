create or replace function loom._memory_measure(p_row loom.memory, p_value jsonb) returns loom.memory
language plpgsql immutable
as $$
declare
  v_canonical text := loom._canonical(p_value, '$.value');
begin
  -- Kept as it is hashed: 1e-1000 counts as 0, but would print a thousand digits at every read.
  p_row.value := v_canonical::jsonb;
  p_row.content_sha256 := loom._sha256(v_canonical);
  p_row.value_length := char_length(v_canonical);
  if p_row.value_length > p_row.char_limit then
    raise exception using errcode = 'LM402', message = 'The value is longer than the row''s limit.',
      detail = jsonb_build_object('value_length', p_row.value_length, 'char_limit', p_row.char_limit,
        'overage', p_row.value_length - p_row.char_limit)::text,
      hint = 'Shorten the value by the overage, or set a larger char_limit in the same call.';
  end if;
  if octet_length(v_canonical) > 262144 then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'value', 'limit', 262144, 'value', octet_length(v_canonical),
        'unit', 'bytes')::text,
      hint = 'Send a smaller value.';
  end if;
  return p_row;
end
$$;
comment on function loom._memory_measure(loom.memory, jsonb) is
  'The row with another value, its hash and its length, which are those of the canonical JSON. Errors: LM001 for a number no double holds, LM402 over char_limit, LM406 over 256 KiB.';
