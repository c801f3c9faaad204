create or replace function loom._memory_status(p_row loom.memory, p_at timestamptz, p_duplicate_of uuid) returns text
language plpgsql immutable
as $$
begin
  return case
    when p_row.redacted_at is not null then 'redacted'
    when p_row.deleted_at is not null then 'deleted'
    when p_row.expires_at <= p_at then 'expired'
    when p_duplicate_of is not null then 'duplicate'
    else 'current'
  end;
end
$$;
comment on function loom._memory_status(loom.memory, timestamptz, uuid) is
  'current, duplicate (current, and an older twin says the same), expired, deleted or redacted.';
