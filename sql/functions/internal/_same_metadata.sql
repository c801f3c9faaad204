create or replace function loom._same_metadata(p_old loom.memory, p_new loom.memory) returns boolean
language plpgsql immutable
as $$
begin
  return (p_old.memory_type, p_old.char_limit, p_old.tags, p_old.confidence, p_old.source_class,
      p_old.source_trace, p_old.valid_at, p_old.valid_to, p_old.expires_at, p_old.pinned, p_old.sensitivity)
    is not distinct from
    (p_new.memory_type, p_new.char_limit, p_new.tags, p_new.confidence, p_new.source_class,
      p_new.source_trace, p_new.valid_at, p_new.valid_to, p_new.expires_at, p_new.pinned, p_new.sensitivity);
end
$$;
comment on function loom._same_metadata(loom.memory, loom.memory) is
  'Whether two states of a row say the same about their value: then the same value again is a restatement.';
