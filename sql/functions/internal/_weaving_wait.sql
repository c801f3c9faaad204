create or replace function loom._weaving_wait(p_attempts integer) returns interval
language plpgsql immutable parallel safe
as $$
begin
  return least(interval '6 hours', interval '5 minutes' * power(2::numeric, least(greatest(p_attempts, 1) - 1, 30))::double precision);
end
$$;
comment on function loom._weaving_wait(integer) is
  'How long a loom waits after so many failed weavings in a row: five minutes, doubled each time, up to six hours.';
