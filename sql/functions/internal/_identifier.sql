create or replace function loom._identifier(p_request jsonb, p_field text, p_most integer default 200)
returns text
language plpgsql immutable parallel safe
set search_path = loom, pg_temp
as $$
declare
  v_text text := loom._text(p_request, p_field);
  v_length integer := char_length(v_text);
begin
  if v_length between 1 and p_most and (p_most < 200 or octet_length(v_text) <= 256) then
    return v_text;
  end if;
  if v_text is null then
    return null;
  end if;
  raise exception using errcode = 'LM406', message = 'A part of the request is over its limit.',
    detail = case when v_length between 1 and p_most
      then jsonb_build_object('what', p_field, 'limit', 256, 'value', octet_length(v_text), 'unit', 'bytes')
      else jsonb_build_object('what', p_field, 'limit', p_most, 'value', v_length, 'unit', 'characters')
    end::text,
    hint = 'Identifiers and keys have at least one character, and at most the named limit.';
end
$$;
comment on function loom._identifier(jsonb, text, integer) is
  'An id or key of a request: 1 to p_most code points and at most 256 bytes of UTF-8, so that a key always fits an index; null when left out. LM406 outside that.';
