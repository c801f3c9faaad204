create or replace function loom._embedding_wait(p_attempts integer, p_at timestamptz) returns timestamptz
language plpgsql immutable parallel safe
as $$
begin
  if p_attempts >= 8 then
    return 'infinity';
  end if;
  return p_at + least(interval '6 hours', interval '1 minute' * power(2, p_attempts - 1));
end
$$;
comment on function loom._embedding_wait(integer, timestamptz) is
  'Until when a text waits for its vector after so many failed attempts: a minute, doubled each time; after eight for good, until it changes.';
