create or replace function loom._clock_text(p_period interval) returns text
language plpgsql immutable strict parallel safe
as $$
declare
  v_seconds integer := extract(epoch from p_period);
begin
  return concat(lpad((v_seconds / 3600)::text, 2, '0'), ':', lpad((v_seconds / 60 % 60)::text, 2, '0'), ':',
    lpad((v_seconds % 60)::text, 2, '0'));
end
$$;
comment on function loom._clock_text(interval) is
  'A period as hours, minutes and seconds, 00:05:00, whatever the session''s IntervalStyle; a day is 24:00:00.';
