create or replace function loom._char_limit(p_request jsonb, p_most integer) returns integer
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
declare
  v_limit bigint := loom._integer(p_request, 'char_limit', -9007199254740991, 9007199254740991);
begin
  if v_limit not between 1 and p_most then
    raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
      detail = jsonb_build_object('what', 'char_limit', 'limit', p_most, 'value', v_limit)::text,
      hint = 'A char_limit is at least 1 and at most the named limit.';
  end if;
  return v_limit;
end
$$;
comment on function loom._char_limit(jsonb, integer) is
  'The char_limit of a request, 1 to p_most; null when left out. LM001 when it is no whole number, LM406 outside its range.';
