create or replace function loom._folded(p_text text) returns text
language plpgsql immutable strict parallel safe
as $$
begin
  return lower(upper(p_text collate "default"));
end
$$;
comment on function loom._folded(text) is
  'A text without case: by way of capitals, so that letters with several small forms (sigma) or a sign of their own (kelvin) meet.';
