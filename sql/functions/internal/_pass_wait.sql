create or replace function loom._pass_wait(p_pass loom.pass, p_kind loom.work_kind) returns interval
language plpgsql stable
as $$
begin
  -- Users that were being written are behind still, in whatever org.
  perform from loom.pass_share where org > '' and kind = p_pass.kind and held limit 1;
  return case
    when found then interval '0'
    when p_pass.taken = 0 then p_kind.idle_interval
    else p_kind.pass_interval
  end;
end
$$;
comment on function loom._pass_wait(loom.pass, loom.work_kind) is
  'How long after a pass that has reached everyone the next one waits, unless something falls due before: not at all for users that could not be had, longest when nobody was behind.';
