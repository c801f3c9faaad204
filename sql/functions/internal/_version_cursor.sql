create or replace function loom._version_cursor(p_request jsonb) returns bigint
language plpgsql immutable parallel safe
as $$
declare
  v_cursor text := loom._text(p_request, 'cursor');
begin
  if v_cursor is null then
    return 9223372036854775807;
  end if;
  if v_cursor !~ E'^\\d{1,18}$' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'cursor', 'reason', 'is no cursor of this list')::text,
      hint = 'Send the next_cursor of the page before.';
  end if;
  return v_cursor::bigint;
end
$$;
comment on function loom._version_cursor(jsonb) is
  'The position of a list of versions, newest first; before the newest for the first page. LM001.';
