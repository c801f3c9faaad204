create or replace function loom._section_text(p_row loom.memory) returns text
language plpgsql immutable
as $$
begin
  if jsonb_typeof(p_row.value) <> 'string' then
    raise exception using errcode = 'LM404', message = 'The section is no text.',
      hint = 'Only text can be appended to or replaced in; set the whole value instead.';
  end if;
  return p_row.value #>> '{}';
end
$$;
comment on function loom._section_text(loom.memory) is 'The text of a section; LM404 when its value is not a string.';
