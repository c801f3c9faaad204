create or replace function loom._blacklist_check(p_caller loom.caller, p_texts text[]) returns boolean
language plpgsql volatile
as $$
declare
  v_hit loom.blacklist := loom._blacklist_hit(p_caller, p_texts);
begin
  if v_hit.blacklist_id is not null then
    raise exception using errcode = 'LM407', message = 'The text holds what must not be stored.',
      detail = jsonb_build_object('reason', v_hit.reason)::text,
      hint = 'Leave out what the blacklist names.';
  end if;
  return true;
end
$$;
comment on function loom._blacklist_check(loom.caller, text[]) is
  'LM407 when a text matches a pattern of the caller''s org or namespace, whatever its case.';
