create or replace function loom._old_text(p_request jsonb) returns text
language plpgsql immutable parallel safe
as $$
declare
  v_old text := loom._text(p_request, 'old', true);
begin
  if v_old = '' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'old', 'reason', 'must not be empty')::text,
      hint = 'Name the text to replace.';
  end if;
  return v_old;
end
$$;
comment on function loom._old_text(jsonb) is 'The old text of a replace; LM001 when missing or empty.';
