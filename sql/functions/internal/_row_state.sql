create or replace function loom._row_state(p_row loom.memory) returns text
language plpgsql immutable
as $$
begin
  return case
    when p_row.deleted_at is not null then null
    when p_row.redacted_at is not null or p_row.expires_at is not null or p_row.author <> 'worker' then 'void'
    when p_row.sensitivity = 'high' then 'high'
    else 'served'
  end;
end
$$;
comment on function loom._row_state(loom.memory) is
  'What a row stands for as a built profile: served, high (held back), void (redacted, one that can expire, or written by a caller), null (deleted). Who wrote the value counts, so that a pin or a lock does not end it.';
