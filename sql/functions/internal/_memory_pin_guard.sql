create or replace function loom._memory_pin_guard(p_old loom.memory, p_new loom.memory, p_live boolean) returns boolean
language plpgsql immutable
as $$
begin
  if p_live and p_old.pinned and p_new.pinned and p_new.content_sha256 <> p_old.content_sha256 then
    raise exception using errcode = 'LM204', message = 'The row is pinned.',
      hint = 'Unpin it to change its value.';
  end if;
  return true;
end
$$;
comment on function loom._memory_pin_guard(loom.memory, loom.memory, boolean) is
  'LM204 when a caller changes the value of a pinned row without unpinning it.';
