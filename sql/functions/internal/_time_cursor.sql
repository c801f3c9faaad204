create or replace function loom._time_cursor(p_request jsonb) returns text[]
language plpgsql immutable parallel safe
as $$
declare
  v_cursor text := loom._text(p_request, 'cursor');
  v_parts text[];
begin
  if v_cursor is null then
    return array['infinity', 'ffffffff-ffff-ffff-ffff-ffffffffffff'];
  end if;
  v_parts := regexp_match(v_cursor,
    E'^(\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z)/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$');
  if v_parts is null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'cursor', 'reason', 'is no cursor of this list')::text,
      hint = 'Send the next_cursor of the page before.';
  end if;
  return array[loom._ts(loom._time(jsonb_build_object('cursor', v_parts[1]), 'cursor')), v_parts[2]];
end
$$;
comment on function loom._time_cursor(jsonb) is
  'The position of a list that is ordered by time and id, newest first: both as text; before everything for the first page. LM001.';
